"""The printers: each spells in its format what `sheet` placed; `html` has tables, `text` lines."""
