# SPDX-License-Identifier: Apache-2.0
"""What judges a host from outside: written with literals only, nothing of the collection is imported here."""
