"""The packed files of Pyodide, each as `NAME.gz` beside this one; `make explorer` in cutepy's repository packs them."""
