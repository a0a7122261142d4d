"""The command line: `cutepy print|draw|explain|wgsl|verify|matmul|adapters|figures`."""

from .main import main as main
