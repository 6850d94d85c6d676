"""What the Vault page is made of: publishing, its plan, the watch on the vault, the cards of what was edited there."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import SignalInstance

from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.publish import PublishViewModel
from gm_desktop.viewmodels.vault_links import VaultLinks
from gm_desktop.viewmodels.vault_plan import VaultPlanViewModel
from gm_desktop.viewmodels.vault_watch import VaultWatch


@dataclass(frozen=True, slots=True)
class VaultModels:
    """The view-models of the page."""

    publishing: PublishViewModel
    plan: VaultPlanViewModel
    watch: VaultWatch
    cards: InboxViewModel
    links: VaultLinks

    def signals(self) -> tuple[SignalInstance, ...]:
        """What may change which actions are possible."""
        cards = self.cards
        return (
            self.publishing.changed,
            self.plan.state_changed,
            self.links.changed,
            cards.state_changed,
            cards.card_changed,
            cards.draft_changed,
        )
