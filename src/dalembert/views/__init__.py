"""What is shown to a person: documents, report, live page, studio, command line."""
