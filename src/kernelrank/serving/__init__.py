"""An HTTP service that ranks: models from files, requests as JSON or Arrow."""

from kernelrank.serving.models import ServedModel, ServedModels
from kernelrank.serving.service import ServiceLimits, create_app

__all__ = ["ServedModel", "ServedModels", "ServiceLimits", "create_app"]
