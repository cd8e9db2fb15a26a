"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.collecting.collection import Collection as Collection
from kernelrank.collecting.collection import CollectionRules as CollectionRules
from kernelrank.collecting.items import read_collected_items as read_collected_items
from kernelrank.collecting.service import create_collection_app as create_collection_app
from kernelrank.collecting.simulation import simulate_collection as simulate_collection
from kernelrank.collecting.store import Item as Item
from kernelrank.collecting.store import VoteRow as VoteRow
from kernelrank.collecting.store import VoteStore as VoteStore
