variable "ok" {
  default = false

  validation {
    condition     = var.ok
    error_message = "Never."
  }
}

resource "terraform_data" "a" {
  for_each = { for k in ["x", "x"] : k => 1 }
}

data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "nowhere" }
}

output "late" {
  value = 1
}
