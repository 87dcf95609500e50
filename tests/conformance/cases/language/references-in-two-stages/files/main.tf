resource "terraform_data" "objects" {
  input = [local.nowhere, var.nowhere, module.nowhere.x, terraform_data.nowhere.id, path.nowhere]
}

resource "terraform_data" "values" {
  input            = [local.nowhere, path.nowhere, terraform.nowhere]
  triggers_replace = var.nowhere
}

resource "terraform_data" "condition" {
  input = local.nowhere

  lifecycle {
    precondition {
      condition     = terraform_data.nowhere == var.nowhere
      error_message = "Not so."
    }
  }
}

output "both" {
  value = [local.nowhere, module.nowhere]
}

locals {
  both = [local.nowhere, module.nowhere]
}
