variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  triggers_replace = var.v
  lifecycle {
    create_before_destroy = true
  }
}
module "m" {
  source = "./m"
  v      = terraform_data.a.id
}
resource "terraform_data" "b" {
  triggers_replace = terraform_data.a.id
}
resource "terraform_data" "c" {
  triggers_replace = terraform_data.b.id
  lifecycle {
    create_before_destroy = true
  }
}
