"""OCR: the text of scanned pages and of images, by tesseract where it is installed."""
