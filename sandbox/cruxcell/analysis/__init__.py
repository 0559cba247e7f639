"""What can be told of a text before it runs: parsing, syntax, bytecode, and the rules over them."""
