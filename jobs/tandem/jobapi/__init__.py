"""What the user's function meets: how it is found and called, its context, its sources and its questions."""
