"""What a person reads of a measurement: terminal reports, charts, plots and their wording."""
