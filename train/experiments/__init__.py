"""What was measured for the documents: each module prints one table or draws one picture."""
