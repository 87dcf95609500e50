resource "terraform_data" "bad" {
  depends_on = [var.none]
}
output "o" {
  value = var.none4
  depends_on = [terraform_data.bad]
}
module "m" {
  source = "./m"
  in = var.none5
  depends_on = [terraform_data.bad]
}
