locals {
