"""What a user is told: mistakes that can be mended, and warnings that do not stop the work."""


class UserError(Exception):
    """A mistake the user can mend. The message is one line: what was wrong, where, what to do."""


class PackageWarning(UserWarning):
    """Something in a package looks wrong but can be played as it is; printed as one line."""


def first_line(error: BaseException) -> str:
    """First line of an exception's text, or its name."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
