"""What every room uses: arrays, labels and queries, checks of arguments, results, progress, compiled loops."""
