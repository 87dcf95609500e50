terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "terraform_data" "color" {
  input = "red"
}

resource "terraform_data" "late" {
  input = "red"
}

resource "lab_thing" "same" {
  name  = "same"
  size  = 1
  color = terraform_data.color.output
  lifecycle {
    create_before_destroy = true
  }
}

resource "lab_thing" "known" {
  name       = "known"
  size       = 1
  color      = "red"
  depends_on = [terraform_data.late]
  lifecycle {
    create_before_destroy = true
  }
}

resource "lab_thing" "other" {
  name = "other"
  size = 2
  lifecycle {
    create_before_destroy = true
  }
}

resource "lab_thing" "dep" {
  name = "dep"
  size = 1
}

resource "lab_thing" "stays" {
  name = "stays"
  size = 1
  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "first" {
  input = lab_thing.dep.name
  lifecycle {
    create_before_destroy = true
  }
}

import {
  to = lab_thing.same
  id = "lab-0000000000b6"
}

import {
  to = lab_thing.other
  id = "lab-0000000000b7"
}

import {
  to = lab_thing.dep
  id = "lab-0000000000b8"
}

import {
  to = lab_thing.stays
  id = "lab-0000000000b9"
}

import {
  to = lab_thing.known
  id = "lab-0000000000ba"
}
