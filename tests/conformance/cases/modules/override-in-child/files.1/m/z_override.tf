variable "name" {
  validation {
    condition     = var.name != ""
    error_message = "Empty."
  }
}
resource "terraform_data" "t" {
  lifecycle {
    postcondition {
      condition     = self.id != ""
      error_message = "No id."
    }
  }
}
output "o" {
  depends_on = [terraform_data.t]
}
