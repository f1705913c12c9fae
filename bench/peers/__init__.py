"""Other systems that the bench measures beside Tandem."""
