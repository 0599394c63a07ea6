"""The public domain of a table: attributes, cliques, edit rules and public totals."""
