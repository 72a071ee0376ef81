"""What a program uses: a collection in a store, and what needs no store; a thin layer above the other rooms."""
