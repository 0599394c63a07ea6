"""A static site of published releases: a catalogue, and a page for the users of each.

Nothing enters but what the release folders hold, and each is verified first. Pages open from a disk
as they do from a web server, fetch nothing, and run one script, which is named by its digest.
"""
