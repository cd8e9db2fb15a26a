"""The frame of the book of studies: data, protocol, result, page."""
