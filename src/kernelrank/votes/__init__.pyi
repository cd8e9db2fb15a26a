"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.votes.agreement import Intransitivity as Intransitivity
from kernelrank.votes.agreement import intransitivity as intransitivity
from kernelrank.votes.agreement import krippendorff_alpha as krippendorff_alpha
from kernelrank.votes.bradley_terry import BradleyTerry as BradleyTerry
from kernelrank.votes.leaderboard import Leaderboard as Leaderboard
