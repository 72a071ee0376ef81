"""OCR: the text of scanned pages and images, by tesseract if installed."""
