"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.votes.bradley_terry import BradleyTerry as BradleyTerry
from kernelrank.votes.leaderboard import Leaderboard as Leaderboard
