"""What every command is built from: options, output, errors, progress, completion."""
