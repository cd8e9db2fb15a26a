"""``python -m kernelrank.cli``, where the command itself is not on the path."""

from kernelrank.cli import main

if __name__ == "__main__":
    main()
