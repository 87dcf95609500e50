variable "on" {
  type    = bool
  default = true
}
resource "terraform_data" "a" {
  lifecycle {
    enabled = path.module
  }
}
resource "terraform_data" "b" {
}
module "m" {
  source = "./m"
  lifecycle {
    enabled = null
  }
}
