resource "terraform_data" "refused" {
  lifecycle {
    precondition {
      condition     = var.id == "x"
      error_message = "Not this one."
    }
  }
}
variable "id" {}
