"""The desktop: one window over one store. Only this package knows Qt."""
