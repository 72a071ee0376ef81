"""From documents to sketches in files of Parquet, a part of the input at a time."""
