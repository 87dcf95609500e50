variable "v" {
}
resource "terraform_data" "in" {
  triggers_replace = var.v
}
