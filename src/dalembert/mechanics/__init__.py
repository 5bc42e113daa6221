"""The equations of the documents, on a mechanism: formulations, coordinates, motion, symbols."""
