"""The learner's own copy of the course: made by ``make lab``, and brought up to date by every later one.

    python -m tools.my_course [FOLDER]

FOLDER (``my_course``) gets the notebooks without their outputs, and the scripts of ``workers/``. What the learner made of them is
never overwritten: a changed notebook is merged cell by cell with the course's new version, and saved in ``backups/`` before. What
the course has delivered last is kept in ``.course/``. A file that is deleted or renamed is delivered anew.
"""
