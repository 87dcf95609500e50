resource "terraform_data" "a" {
 input = 1
}
check "c" {
 assert {
 condition = terraform_data.nope.id == local.x
 error_message = "a ${terraform_data.a.id} ${var.y}"
 }
 assert {
 condition = terraform_data.a.nope == 1
 error_message = "b ${terraform_data.a.id}"
 }
 assert {
 condition = terraform_data.a.id == 1
 error_message = "c ${terraform_data.zz.id}"
 }
}
