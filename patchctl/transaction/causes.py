"""What to do about an error of the system: one sentence for each cause that writing below a site meets.

Which step failed, and what became of the transaction, is said by those who call.
"""

from __future__ import annotations

import errno

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space on it",
    errno.EDQUOT: "the disk quota of this user is used up: free some space, or have it raised",
    errno.EROFS: "the file system is read-only: mount it read-write (in a container: start it with a writable layer)",
    errno.EACCES: "run patchctl as the owner of the installation; root is refused too where NFS squashes it",
    errno.EPERM: "run patchctl as the owner of the installation, and look for the immutable attribute with lsattr",
    errno.EBUSY: "something is mounted on the file, as a container does with a single file: take that mount away, "
    "or patch what is mounted there",
    errno.EXDEV: "a directory on the way lies in another layer or on another file system: install the distribution "
    "into one file system (with overlayfs, apply when the image is built)",
    errno.EIO: "the disk reports an error: look at dmesg before anything is written again",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "the system has no file handles left: wait until other programs close some",
    errno.ESTALE: "the network file system lost the file: mount it again",
}
_OTHERWISE = "remove the cause"


def remedy(error: OSError) -> str:
    """Return what to do about ``error``, without a full stop: a caller may go on with the next command to run."""
    return _REMEDIES.get(error.errno or 0, _OTHERWISE)
