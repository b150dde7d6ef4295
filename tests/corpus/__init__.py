"""The engine on released vLLM wheels, beside git apply, GNU patch and git merge-file."""
