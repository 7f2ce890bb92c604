"""The measurements behind the documents: each module prints one table or draws one plot."""
