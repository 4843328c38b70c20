"""The kinds of messages in a task of Cline or Roo Code, grouped by what they become."""

BOOKKEEPING = frozenset(
    {
        *("head", "tail", "generation", "written again", "partial", "history"),
        *("api_req_started", "api_req_finished", "checkpoint_created", "checkpoint_saved"),
        *("mcp_server_request_started", "deleted_api_reqs", "api_req_deleted", "empty"),
    }
)
ERRORS = frozenset(
    {
        *("error", "diff_error", "clineignore_error", "rooignore_error", "api_req_failed"),
        *("condense_context_error", "mistake_limit_reached", "command_permission_denied"),
    }
)
RETRIES = frozenset({"api_req_retried", "api_req_retry_delayed", "retry_delayed"})
ANSWERS = frozenset({"text", "plan_mode_respond", "act_mode_respond", "followup"})
COMPLETIONS = frozenset({"completion_result", "plan_completion_result"})
FEEDBACK = frozenset({"user_feedback", "user_feedback_diff"})
CALLS = frozenset({"tool", "command", "use_mcp_server", "browser_action_launch"})
# After a message of these kinds a person is invited to write: the agent asked or has finished.
INVITED = COMPLETIONS | {"followup", "plan_mode_respond", "resume_task", "resume_completed_task"}
EDITS = frozenset(
    {
        *("editedExistingFile", "newFileCreated", "appliedDiff", "fileDeleted"),
        *("insertContent", "searchAndReplace"),
    }
)
