
variable "keep" { type = bool }
resource "terraform_data" "t" {
  lifecycle { prevent_destroy = var.keep }
}
