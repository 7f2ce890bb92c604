"""Find a recipe's method."""

from collections.abc import Mapping

from torch import nn

from train.batches import TrainingFaces
from train.methods.crl import Crl
from train.methods.cross_entropy import CrossEntropy
from train.methods.eac import Eac
from train.methods.focal import Focal
from train.methods.mbls import Mbls
from train.methods.method import Method
from train.methods.rac import Rac
from train.methods.rank_o_tom import RankOToM
from train.methods.scn import Scn
from train.methods.settings import MethodName
from train.ranks import Ranks
from train.recipe import Recipe

METHODS: Mapping[MethodName, type[Method]] = {
    "rank-o-tom": RankOToM,
    "cross-entropy": CrossEntropy,
    "focal": Focal,
    "scn": Scn,
    "eac": Eac,
    "rac": Rac,
    "crl": Crl,
    "mbls": Mbls,
}


def build_method(recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks) -> Method:
    return METHODS[recipe.method](recipe, faces, network, ranks)
