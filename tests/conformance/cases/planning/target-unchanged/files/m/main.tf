variable "v" {}
resource "terraform_data" "i" {
  input      = 1
  depends_on = [terraform_data.j]
}
resource "terraform_data" "j" { input = var.v == "" ? 2 : 3 }
