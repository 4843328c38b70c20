"""Make text, HTML and Markdown safe to show, for the terminal, the web page and exports."""
