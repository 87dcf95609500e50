terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "k" { default=1 }
resource "terraform_data" "d" {
 triggers_replace=jsonencode({a=var.k,b=[1,2,var.k],c={x="y"}})
 input=jsonencode({a=var.k})
}
resource "lab_thing" "t" {
 name=jsonencode({a=var.k,l=[var.k]})
 labels={ j=jsonencode([1,2,var.k]) }
}
resource "lab_link" "l" {
 from=jsonencode(["a",var.k])
 to=jsonencode({z=null})
}
