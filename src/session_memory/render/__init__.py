"""Text, HTML and Markdown made safe to show. The terminal and the web page share this room."""
