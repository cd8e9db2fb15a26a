"""``python -m kernelrank``: the command, where its script is not on the path."""

from kernelrank.cli import main

if __name__ == "__main__":
    main()
