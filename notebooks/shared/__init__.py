"""What two to four lessons share."""
