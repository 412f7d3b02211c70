"""For whoever teaches a class: syllabi, the progress of all, and one server for everybody."""
