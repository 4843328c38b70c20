"""One module for each tool, with a function ``write`` that writes its answer."""
