"""Reports on what calib measures: terminal reports, charts, plots and their wording."""
